package main

import "github.com/nodeforensics/nodeforensics/report"

// maxName is how many bytes of a name stand in a message.
const maxName = 8 << 10

// printable is text of the node for a line of the terminal.
func printable(s string) string { return report.Visible(s, maxName) }
