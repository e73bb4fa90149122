/** Bugs in what readers of a run are given. */
import type { PlantedBug } from './bug.ts';

const follow = 'lib/service/watching/follow-run.ts';

export const readerBugs: readonly PlantedBug[] = [
  {
    name: 'who comes back is given his last event again',
    file: follow,
    find: 'if (fact.event.eventId <= after) continue;',
    replace: 'if (fact.event.eventId < after) continue;',
    within: 10,
  },
  {
    name: 'who comes back misses one event',
    file: follow,
    find: 'if (fact.event.eventId <= after) continue;',
    replace: 'if (fact.event.eventId <= (after > 0 ? after + 1 : after)) continue;',
    within: 10,
  },
  {
    name: 'who goes far back is given only what came last',
    file: follow,
    find: 'if (fact.event.eventId <= after) continue;',
    replace: 'if (fact.event.eventId <= after || (after > 0 && fact.event.eventId < state.nextEventId - 20)) continue;',
    within: 20,
  },
  {
    name: 'a reader who waits is not given what comes',
    file: follow,
    find: 'commits = await readNewCommits(deps, run, state).catch(emptyIfUnavailable);',
    replace: 'await readNewCommits(deps, run, state).catch(emptyIfUnavailable);\n    commits = [];',
    within: 20,
  },
  {
    name: 'a reader reads over a hole',
    file: follow,
    find: 'const commits = untilFirstGap(await deps.log.commitsAfter(run, asOf), asOf + 1);',
    replace: 'const commits = await deps.log.commitsAfter(run, asOf);\n  void untilFirstGap;',
    within: 10,
  },
];
