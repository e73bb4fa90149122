/** Bugs in what readers of a run are given. */
import type { PlantedBug } from './bug.ts';

const follow = 'lib/service/follow-run.ts';

export const inReaders: readonly PlantedBug[] = [
  {
    name: 'who comes back is given his last event again',
    file: follow,
    find: 'if (seen.event.eventId <= after) continue;',
    replace: 'if (seen.event.eventId < after) continue;',
    within: 10,
  },
  {
    name: 'who comes back misses one event',
    file: follow,
    find: 'if (seen.event.eventId <= after) continue;',
    replace: 'if (seen.event.eventId <= (after > 0 ? after + 1 : after)) continue;',
    within: 10,
  },
  {
    name: 'who goes far back is given only what came last',
    file: follow,
    find: 'if (seen.event.eventId <= after) continue;',
    replace: 'if (seen.event.eventId <= after || (after > 0 && seen.event.eventId < state.nextEventId - 20)) continue;',
    within: 20,
  },
  {
    name: 'a reader who waits is not given what comes',
    file: follow,
    find: 'commits = await readOn(deps, run, state).catch(nothingNow);',
    replace: 'await readOn(deps, run, state).catch(nothingNow);\n    commits = [];',
    within: 20,
  },
  {
    name: 'a reader reads over a hole',
    file: follow,
    find: 'const commits = untilFirstHole(await deps.log.commitsAfter(run, asOf), asOf + 1);',
    replace: 'const commits = await deps.log.commitsAfter(run, asOf);\n  void untilFirstHole;',
    within: 10,
  },
];
