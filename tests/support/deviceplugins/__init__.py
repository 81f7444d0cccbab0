"""Device plugins as tests need them: real gRPC to a real kubelet, devices that a test makes up."""

from deviceplugins.plugin import Device as Device
from deviceplugins.plugin import Grant as Grant
from deviceplugins.plugin import Mount as Mount
from deviceplugins.plugin import Node as Node
from deviceplugins.plugin import Plugin as Plugin
from deviceplugins.serving import Served as Served
from deviceplugins.serving import serve as serve
