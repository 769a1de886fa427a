package testfuse

import (
	"os"
)

// roleEnv names the variable that makes a copy of the test binary serve or hold something instead of testing.
const roleEnv = "TESTFUSE_ROLE"

// The roles of such a copy.
const (
	roleServe  = "serve"
	roleStat   = "stat"
	roleHold   = "hold"
	roleResume = "resume" // a holder that has replaced its executable
)

// Main has to be the first call of TestMain. In the processes that this package starts it never returns.
func Main() {
	switch os.Getenv(roleEnv) {
	case "":
		return
	case roleServe:
		os.Exit(serveMain())
	case roleStat:
		os.Exit(statMain())
	case roleHold:
		os.Exit(holdMain())
	case roleResume:
		os.Exit(resumeMain())
	}
	os.Exit(2)
}
