package plan

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestScriptExchanged exchanges directories on the way for links to a live pod's, again and again while the script runs.
func TestScriptExchanged(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, name := range []string{"", "volumes", filepath.Dir(csi), csi} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			for _, uid := range []string{uidLive, uidA} {
				tr.write(uid, csi+"/vol_data.json", volData)
				tr.write(uid, csi+"/mount/", "")
			}
			script := plan(t, tr.report("1.34.4"))
			victim, link := filepath.Join(tr.pod(uidLive), name), filepath.Join(tr.root, "link")
			must(t, os.Symlink(victim, link))
			before := links(t, tr.pod(uidLive))
			done, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				for {
					select {
					case <-done:
						return
					default: // a step that has removed the directory meanwhile leaves nothing to exchange
						_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(tr.pod(uidA), name), unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
					}
				}
			}()
			for range 3 {
				tr.run(script, "--apply")
			}
			close(done)
			<-ended
			if after := links(t, tr.pod(uidLive)); len(after) != len(before) {
				t.Errorf("of the live pod there is left: %v", after)
			}
		})
	}
}
