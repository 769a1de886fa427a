package mask_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/internal/mask"
)

const logSecret = "eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlc2lnbmF0dXJl"

// fillWords puts the secret into every field that holds words of a log, and one element into every list.
func fillWords(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.String:
		if slices.Contains([]string{"Text", "Reason", "Waits", "Detail"}, field) {
			v.SetString("Authorization: Bearer " + logSecret)
		}
	case reflect.Pointer:
		if v.Type().Elem().PkgPath() != "time" {
			v.Set(reflect.New(v.Type().Elem()))
			fillWords(v.Elem(), field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillWords(v.Index(0), field)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().PkgPath() != "time" {
				fillWords(v.Field(i), v.Type().Field(i).Name)
			}
		}
	}
}

func TestNoWordsOfALogStayUnmasked(t *testing.T) {
	var story logs.Story
	fillWords(reflect.ValueOf(&story).Elem(), "")
	before, err := json.Marshal(story)
	if err != nil {
		t.Fatal(err)
	}
	masked, err := json.Marshal(mask.Logs(redact.New(nil), &story))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(before), logSecret); n < 10 {
		t.Fatalf("only %d fields hold the secret", n)
	}
	if strings.Contains(string(masked), logSecret) {
		t.Errorf("%s", masked)
	}
	if after, err := json.Marshal(story); err != nil || string(after) != string(before) {
		t.Error("the story itself was changed")
	}
}
