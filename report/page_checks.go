package report

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// missingView is what could not be checked: a line, and the list of reasons.
type missingView struct {
	Line  shown
	Count int
	List  []missingReason
}

type missingReason struct {
	Checks, Reason shown
}

type outcomeRow struct {
	Check  shown
	Mark   mark
	Reason shown
	Rank   int
	Found  int  // findings
	First  link // to the first of them
}

// newMissing is nil where everything was checked.
func newMissing(r Report) *missingView {
	missing := unchecked(r.Outcomes)
	if len(missing) == 0 {
		return nil
	}
	line := fmt.Sprintf("%d of %s could not run or could not judge everything.", len(missing), count(len(r.Outcomes), "check"))
	v := &missingView{Count: len(missing), Line: shown(line + suffix(" ", howToCheck(r), ""))}
	room := budget(budgetRest / 4)
	for _, g := range byReason(missing) {
		row := missingReason{cell(joinComma(g.Checks), maxLine), cell(g.Reason, maxLine)}
		if !room.fits(row, 60) {
			v.List = append(v.List, missingReason{"more checks", "see Check results"})
			break
		}
		v.List = append(v.List, row)
	}
	return v
}

func newOutcomes(r Report, places *places) []outcomeRow {
	room := budget(budgetRest)
	found, first := map[string]int{}, map[string]string{}
	for i, f := range r.Findings {
		if found[f.ID]++; found[f.ID] == 1 && places.shownFindings[i] {
			first[f.ID] = findingID(i, "#")
		}
	}
	rows := []outcomeRow{}
	for _, o := range r.Outcomes {
		row := outcomeRow{
			Check: cell(o.Check, maxCell), Reason: cell(o.Reason, maxLine),
			Mark: mark{outcomeTone(o.Status), cell(outcomeWords(o.Status), 60)}, Rank: outcomeRank(o.Status),
			Found: found[o.Check], First: link{shown(grouped(int64(found[o.Check]))), first[o.Check]},
		}
		if room.fits(row, 120) {
			rows = append(rows, row)
		}
	}
	sorting.Stable(rows, func(a, b outcomeRow) int { return a.Rank - b.Rank })
	return rows
}

func outcomeWords(s forensics.OutcomeStatus) string {
	if s == forensics.OutcomeNotChecked {
		return "not checked"
	}
	return string(s)
}

func outcomeRank(s forensics.OutcomeStatus) int {
	switch s {
	case forensics.OutcomeFound:
		return 0
	case forensics.OutcomeFailed:
		return 1
	case forensics.OutcomeNotChecked:
		return 2
	}
	return 3
}
