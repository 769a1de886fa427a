package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// childMain collects: it is the process that may never come back. It runs in a session of its own, in "/", with the
// lowest priority unless it only looks for holders, and as the first victim of the OOM killer. It holds no descriptor but
// its pipes.
func childMain(in io.Reader, out io.Writer) int {
	debug.SetGCPercent(50) // small rather than fast: the node is short of everything
	takeName()
	stepAside()
	reader := bufio.NewReader(in)
	line, err := reader.ReadBytes('\n')
	var o order
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	frames := &frameWriter{encoder: json.NewEncoder(out)}
	if err != nil {
		frames.write(frame{Error: "no order: " + err.Error(), Done: true})
		return exitFailed
	}
	if len(o.Holders) == 0 { // for those, somebody waits, and it is over at once
		lowerPriority()
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	go func() { // the parent closes the pipe to stop us, and when it dies
		_, _ = io.Copy(io.Discard, reader)
		cancel()
	}()
	o.Options.Emit = func(part forensics.Evidence) {
		part.ToValidUTF8()
		frames.write(frame{Part: &part})
	}
	o.Options.Progress = func(s string) { frames.write(frame{Progress: s}) }
	last := frame{Done: true}
	if len(o.Holders) > 0 {
		queries := make([]string, len(o.Holders))
		for i, q := range o.Holders {
			queries[i] = string(q)
		}
		_, err = forensics.CollectHolders(ctx, o.Options, queries...)
	} else {
		_, err = forensics.Collect(ctx, o.Options)
	}
	if err != nil {
		last.Error = err.Error()
	}
	frames.write(last)
	return exitDone
}

// frameWriter writes one frame at a time.
type frameWriter struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func (w *frameWriter) write(f frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.encoder.Encode(f); err != nil {
		os.Exit(exitFailed) // nobody listens any more
	}
}
