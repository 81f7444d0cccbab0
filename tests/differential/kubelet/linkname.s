// Lets a function be declared whose body linkname finds.
