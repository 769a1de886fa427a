// Package logline reads the prefix of a message in a log line, for the packages that search logs for messages and for goroutine dumps.
// Each of them parses the rest of the prefix itself: one needs the time, the other only the message.
// It also tells what klog quotes, which may be of a pod.
package logline

import (
	"encoding/json"
	"time"
)

// Month reads the month that a line of syslog (RFC 3164, TIMESTAMP) or of journalctl -o short begins with: "Nov".
func Month[T string | []byte](s T) (time.Month, bool) {
	if len(s) < 3 {
		return 0, false
	}
	switch uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2]) {
	case 'J'<<16 | 'a'<<8 | 'n':
		return time.January, true
	case 'F'<<16 | 'e'<<8 | 'b':
		return time.February, true
	case 'M'<<16 | 'a'<<8 | 'r':
		return time.March, true
	case 'A'<<16 | 'p'<<8 | 'r':
		return time.April, true
	case 'M'<<16 | 'a'<<8 | 'y':
		return time.May, true
	case 'J'<<16 | 'u'<<8 | 'n':
		return time.June, true
	case 'J'<<16 | 'u'<<8 | 'l':
		return time.July, true
	case 'A'<<16 | 'u'<<8 | 'g':
		return time.August, true
	case 'S'<<16 | 'e'<<8 | 'p':
		return time.September, true
	case 'O'<<16 | 'c'<<8 | 't':
		return time.October, true
	case 'N'<<16 | 'o'<<8 | 'v':
		return time.November, true
	case 'D'<<16 | 'e'<<8 | 'c':
		return time.December, true
	}
	return 0, false
}

// CRI reads what follows the time in a log of the container runtime interface (pkg/kubelet/kuberuntime/logs/logs.go,
// parseCRILog): "stderr F message". The stream is "stderr" or "stdout"; partial (P) says that its next line continues
// the same message. Further tags, after colons, are ignored.
func CRI[T string | []byte](s T) (stream T, partial bool, message T, ok bool) {
	if len(s) < 8 || s[0] != 's' || s[1] != 't' || s[2] != 'd' || s[6] != ' ' || s[7] != 'F' && s[7] != 'P' {
		return stream, false, message, false
	}
	if name := s[3:6]; string(name) != "err" && string(name) != "out" {
		return stream, false, message, false
	}
	end := 8
	if end < len(s) && s[end] == ':' {
		for end < len(s) && s[end] != ' ' {
			end++
		}
	}
	if end < len(s) && s[end] != ' ' {
		return stream, false, message, false
	}
	return s[:6], s[7] == 'P', s[min(end+1, len(s)):], true
}

// JournalBytes reads a field whose bytes are not all printable: journalctl -o json writes them as an array of numbers.
func JournalBytes(array []byte) (string, bool) {
	var numbers []int
	if json.Unmarshal(array, &numbers) != nil {
		return "", false
	}
	text := make([]byte, len(numbers))
	for i, n := range numbers {
		text[i] = byte(n)
	}
	return string(text), true
}
