package main

import (
	_ "embed" // of the pages
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/internal/packed"
)

// manPages are the pages in man, which go generate makes of the commands; see TestManPages.
//
//go:embed man.json.gz
var manPages string

func (a *app) manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man --output-dir DIR",
		Short: "Write the man pages",
		Long: `man writes a man page for each command to a directory. It replaces pages of the
same names. man(1) finds pages in a directory man1 below a directory of MANPATH.`,
		Example: `  # Install the pages, then read one.
  nodeforensics man --output-dir /usr/local/share/man/man1
  man nodeforensics-analyze`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return usagef("man: want --output-dir DIR")
			}
			return a.writeManPages(dir)
		},
		DisableFlagsInUseLine: true,
	}
	cmd.Flags().StringVar(&dir, "output-dir", "", "write the pages to `DIR`, which is created if it does not exist")
	_ = cmd.MarkFlagDirname("output-dir")
	return cmd
}

func (a *app) writeManPages(dir string) error {
	pages, err := packed.Files(manPages)
	if err != nil {
		return err
	}
	var files []rendering
	for _, page := range pages {
		files = append(files, rendering{page.Name, int64(len(page.Text)), writing([]byte(page.Text))})
	}
	written, err := a.writeFiles(a.interrupts(), parcel{Dir: absolute(dir), Make: true, Replace: true}, files, time.Time{})
	for _, name := range written {
		a.out.printf("%s\n", printable(name))
	}
	return err
}
