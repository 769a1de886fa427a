package main

import (
	"os"
	"syscall"
)

// supported says whether this system has what examining a node needs.
const supported = true

// ignoredSignals do not end or stop the program.
var ignoredSignals = []os.Signal{syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGXFSZ, syscall.SIGTTOU}
