package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal runs a command whose standard output is a terminal, and returns what that shows.
func onTerminal(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = controller.Close() }()
	number, err := unix.IoctlGetInt(int(controller.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(controller.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	shown := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(controller) // it ends with EIO
		shown <- string(text)
	}()
	cmd.Stdout = terminal
	o := finish(t, cmd)
	_ = terminal.Close()
	if o.status != exitDone {
		t.Errorf("exit status %d: %s", o.status, o.stderr)
	}
	return <-shown
}

func TestColorsAreForTerminalsThatWantThem(t *testing.T) {
	t.Parallel()
	dump := capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2")
	for name, tt := range map[string]struct {
		args    []string
		env     string
		colored bool
	}{
		"as usual":   {nil, "TERM=xterm", true},
		"-o text":    {[]string{"-o", "text"}, "TERM=xterm", true},
		"--no-color": {[]string{"--no-color"}, "TERM=xterm", false},
		"NO_COLOR":   {nil, "NO_COLOR=1", false},
		"dumb":       {nil, "TERM=dumb", false},
	} {
		cmd := command(t, append([]string{"analyze", dump}, tt.args...)...)
		cmd.Env = append(os.Environ(), "NO_COLOR=", "TERM=xterm", tt.env)
		text := onTerminal(t, cmd)
		if strings.Contains(text, "\x1b[") != tt.colored || !strings.Contains(text, "kubelet") {
			t.Errorf("%s: %.300q", name, text)
		}
	}
}
