"""What a node's agent makes of what it sees: trees and counters in, one NodeRails object out."""
