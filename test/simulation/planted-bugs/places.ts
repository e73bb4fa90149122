/** Bugs where runs of a workflow take turns. */
import type { PlantedBug } from './bug.ts';

const options = { runs: 6, isShared: true, code: 0, limits: { maxConcurrentRuns: 2 } };

export const inPlaces: readonly PlantedBug[] = [
  {
    name: 'a place is taken without asking whether it is free',
    file: 'lib/memory/places.ts',
    find: 'if (!taken.has(place)) taken.set(place, runId);',
    replace: 'taken.set(place, runId);',
    within: 60,
    options,
  },
  {
    name: 'a run begins without a place',
    file: 'lib/engine/graph/begin.ts',
    find: "emit(draft, { type: 'PLACE_AWAITED', places, ...(notBefore === undefined ? {} : { notBefore }) });",
    replace:
      "emit(draft, { type: 'PLACE_AWAITED', places, ...(notBefore === undefined ? {} : { notBefore }) });\n  begin(draft);",
    within: 10,
    options,
  },
  {
    name: 'an ended run does not give its place back',
    file: 'lib/service/tend-place.ts',
    find: 'if (place !== keeps) await deps.places.free(of, place, runId);',
    replace: 'void [place, keeps];',
    and: [
      // Nor does anybody else for it.
      {
        file: 'lib/service/tend-place.ts',
        find: 'if (isOver) await deps.places.free(of, place, runId);',
        replace: 'void isOver;',
      },
    ],
    within: 20,
    options,
  },
  {
    name: 'a run that asks for a place waits in no line',
    file: 'lib/service/tend-place.ts',
    find: 'await deps.places.enter(of, own, fold.head.expiresAt);',
    replace: '',
    within: 20,
    weather: 'calm',
    options: { ...options, withoutSweep: true },
  },
];
