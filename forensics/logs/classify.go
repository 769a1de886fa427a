package logs

// literals are what lines must hold, at least one of them, to be parsed at all. They are matched byte by byte.
func literals() []string { return nil }

// classify says what a parsed line means; it is false for what is not known.
func classify(*Entry) (Occurrence, bool) { return Occurrence{}, false }

// A folder makes a story of occurrences. They come in the order of the files and of the lines in them.
type folder struct{}

func newFolder() *folder { return &folder{} }

// add takes one occurrence; file is the path that quotes name. Nothing of the entry is kept uncloned.
func (*folder) add(file string, o Occurrence) {}

// seen tells of lines that were not selected: that a writer said something else at that time.
func (*folder) seen(e *Entry) {}

// story is what came of it.
func (*folder) story(files []File) Story { return Story{Files: files} }
