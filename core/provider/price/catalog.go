package price

import (
	"math"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// catalog finds the entries of one kind of provider.
type catalog map[string]func() index[model]

// loadCatalog reads the embedded catalog. Each kind's index is made when it is first needed: a run uses one or two of
// forty.
func loadCatalog() catalog {
	kinds := catalog{}
	for _, p := range embedded.GetAll() {
		kinds[string(p.ID)] = sync.OnceValue(func() index[model] {
			var x index[model]
			for _, m := range p.Models {
				x.add(m.ID, model{price: catalogPrice(m), window: m.ContextWindow})
			}
			return x
		})
	}
	return kinds
}

// find looks a model up; a kind that the catalog does not have has no models.
func (c catalog) find(kind, name string, same func(a, b model) bool) (model, bool) {
	models, ok := c[kind]
	if !ok {
		return model{}, false
	}
	return models().find(name, same)
}

// catalogPrice reads a catalog entry, whose zeros mean "not stated". Only a name that says so is free.
func catalogPrice(m catwalk.Model) *Price {
	p := Price{Input: micro(m.CostPer1MIn), Output: micro(m.CostPer1MOut), Model: m.ID, Source: Catalog}
	p.CacheRead, p.CacheWrite = p.Input, p.Input
	if p.Input <= 0 || p.Output <= 0 {
		if p.Input == 0 && p.Output == 0 && strings.HasSuffix(m.ID, ":free") {
			return &p
		}
		return nil
	}
	// The catalog has two prices for cached tokens and its vendors fill them in either order. What is below the input
	// price is for reading, what is above it for writing; what is missing costs as much as other input.
	for _, cached := range []int64{micro(m.CostPer1MInCached), micro(m.CostPer1MOutCached)} {
		switch {
		case cached > p.Input:
			p.CacheWrite = cached
		case cached > 0:
			p.CacheRead = min(p.CacheRead, cached)
		}
	}
	return &p
}

// micro turns units per million tokens into micro-units. The catalog's floats are decimal prices a hair off.
func micro(perMillion float64) int64 { return int64(math.Round(perMillion * 1e6)) }
