package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/internal/mask"
)

// childMain collects: it is the process that may never come back. It runs in a session of its own, in "/", with the
// lowest priority unless it only looks for holders, and as the first victim of the OOM killer. It holds no descriptor but
// its pipes.
func childMain(in io.Reader, stdout io.Writer) int {
	limitMemory(nodeMemory, nodeGC)
	takeName()
	stepAside()
	reader := bufio.NewReader(in)
	line, err := reader.ReadBytes('\n')
	var o order
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	out := &frameWriter{encoder: json.NewEncoder(stdout)}
	if err != nil {
		out.write(frame{Error: "no order: " + err.Error(), Done: true})
		return exitFailed
	}
	if len(o.Holders) == 0 {
		lowerPriority()
	} else { // somebody waits for those, and it is over at once
		limitMemory(holdersMemory, holdersGC)
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	go func() { // the parent closes the pipe to stop us, and when it dies
		_, _ = io.Copy(io.Discard, reader)
		cancel()
	}()
	o.Options.Emit = func(part forensics.Evidence) {
		mask.ValidUTF8(&part)
		for f := range frames(part) {
			out.write(f)
		}
	}
	o.Options.Progress = func(s string) { out.write(frame{Progress: s}) }
	last := frame{Done: true}
	if len(o.Holders) > 0 {
		queries := make([]string, len(o.Holders))
		for i, q := range o.Holders {
			queries[i] = string(q)
		}
		_, err = collect.Holders(ctx, o.Options, queries...)
	} else {
		_, err = collect.Collect(ctx, o.Options)
	}
	if err != nil {
		last.Error = err.Error()
	}
	out.write(last)
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
