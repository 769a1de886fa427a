package logs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/logline"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// maxJournalField bounds one field of a record; a longer one is left out. journald itself cuts lines at 48 KiB (LineMax=).
const maxJournalField = 256 << 10

// isJournalExport says whether text begins as journalctl -o export writes it (systemd.io, Journal Export Formats): fields as
// KEY=VALUE on lines of their own, of which the first is the cursor.
func isJournalExport(text []byte) bool { return bytes.HasPrefix(text, []byte("__CURSOR=")) }

// isJournalPretty says whether text begins as journalctl -o json-pretty writes it: a record over several lines.
func isJournalPretty(text []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(text, " \r\n\ufeff"), []byte("{\n\t\""))
	return ok && bytes.Contains(rest[:min(len(rest), 16<<10)], []byte(`"__REALTIME_TIMESTAMP" : "`))
}

// journalLines gives the records of a journal one line each, as journalctl -o json writes them; other text stays as it is.
func journalLines(in *bufio.Reader) io.Reader {
	head, _ := in.Peek(20 << 10)
	switch {
	case isJournalExport(head):
		return &recordReader{in: in, next: exportRecord}
	case isJournalPretty(head):
		return &recordReader{in: in, next: prettyRecord}
	case len(head) > 0 && (head[0] == '{' || head[0] == 0x1e) && bytes.Contains(head, []byte(`"__REALTIME_TIMESTAMP"`)):
		return &recordReader{in: in, next: jsonRecord}
	}
	return in
}

// A recordReader reads records that take several lines as one line each.
type recordReader struct {
	in   *bufio.Reader
	next func(*bufio.Reader) (line []byte, err error)
	line []byte
	err  error
}

// Read implements [io.Reader].
func (r *recordReader) Read(p []byte) (int, error) {
	for len(r.line) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.line, r.err = r.next(r.in); len(r.line) > 0 {
			r.line = append(r.line, '\n')
		}
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}

// journalFields are those that are looked at.
var journalFields = []string{
	"__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP", "_BOOT_ID", "_TRANSPORT", "_HOSTNAME", "_PID", "_COMM",
	"_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", "PRIORITY", "CONTAINER_ID", "MESSAGE",
}

// exportRecord reads one record, which an empty line ends. A value that is no text follows its key's line, with its size before it.
func exportRecord(in *bufio.Reader) ([]byte, error) {
	record := map[string]string{}
	for {
		line, err := boundedLine(in)
		text := strings.TrimSuffix(string(line), "\n")
		if text == "" && len(record) > 0 || err != nil && text == "" {
			out, _ := json.Marshal(record)
			if len(record) == 0 {
				out = nil
			}
			return out, err
		}
		key, value, ok := strings.Cut(text, "=")
		if !ok && err == nil && text != "" {
			var size uint64
			if err = binary.Read(in, binary.LittleEndian, &size); err == nil {
				value, err = sizedValue(in, size)
			}
		}
		for _, want := range journalFields {
			if key == want {
				record[key] = strings.ToValidUTF8(value, string(utf8.RuneError))
			}
		}
		if err != nil {
			out, _ := json.Marshal(record)
			return out, err
		}
	}
}

func sizedValue(in *bufio.Reader, size uint64) (string, error) {
	value := make([]byte, min(size, maxJournalField))
	if _, err := io.ReadFull(in, value); err != nil {
		return "", io.ErrUnexpectedEOF
	}
	rest := size - uint64(len(value)) + 1 // and the end of the line
	if rest > 1<<62 {
		return "", io.ErrUnexpectedEOF
	}
	_, err := io.CopyN(io.Discard, in, int64(rest))
	return string(value), err
}

// prettyRecord reads one object, whose last line is its brace.
func prettyRecord(in *bufio.Reader) ([]byte, error) {
	var record []byte
	for {
		line, err := boundedLine(in)
		end := bytes.HasPrefix(line, []byte("}"))
		if line = bytes.TrimSpace(line); len(record)+len(line) <= 4*maxJournalField {
			record = append(record, line...)
		}
		if end || err != nil {
			return readableMessage(record), err
		}
	}
}

// jsonRecord reads one object in one line.
func jsonRecord(in *bufio.Reader) ([]byte, error) {
	line, err := boundedLine(in)
	return readableMessage(bytes.TrimRight(line, "\r\n")), err
}

// bytesMessage is a message that is no UTF-8, or has control characters: it is written as the numbers of its bytes.
var bytesMessage = pattern.New(`"MESSAGE"\s*:\s*(\[[0-9,\s]*\])`)

// readableMessage makes text of a message of numbers: lines are found by the words in them.
func readableMessage(record []byte) []byte {
	if !bytes.Contains(record, []byte(`"MESSAGE"`)) {
		return record
	}
	m := bytesMessage.FindSubmatchIndex(record)
	if m == nil {
		return record
	}
	text, ok := logline.JournalBytes(record[m[2]:m[3]])
	if !ok {
		return record
	}
	quoted, _ := json.Marshal(strings.ToValidUTF8(text, string(utf8.RuneError)))
	return slices.Concat(record[:m[2]], quoted, record[m[3]:])
}

// boundedLine reads a line, of which the end is left out if it is too long.
func boundedLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line) < maxJournalField {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull { //nolint:errorlint // it is returned as it is
			return line, err
		}
	}
}
