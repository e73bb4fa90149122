/** Planted bugs in the events that readers of a run get. */
import type { PlantedBug } from './bug.ts';

const follow = 'lib/service/watching/follow-run.ts';

export const readerBugs: readonly PlantedBug[] = [
  {
    name: 'a reader that reconnects gets its last event again',
    file: follow,
    find: 'if (fact.event.eventId <= after) continue;',
    replace: 'if (fact.event.eventId < after) continue;',
    within: 10,
  },
  {
    name: 'a reader that reconnects misses one event',
    file: follow,
    find: 'if (fact.event.eventId <= after) continue;',
    replace: 'if (fact.event.eventId <= (after > 0 ? after + 1 : after)) continue;',
    within: 10,
  },
  {
    name: 'a reader with an old cursor gets only the latest events',
    file: follow,
    find: 'if (fact.event.eventId <= after) continue;',
    replace: 'if (fact.event.eventId <= after || (after > 0 && fact.event.eventId < state.nextEventId - 20)) continue;',
    within: 20,
  },
  {
    name: 'a waiting reader gets no new events',
    file: follow,
    find: 'commits = await readNewCommits(deps, run, state).catch(emptyIfUnavailable);',
    replace: 'await readNewCommits(deps, run, state).catch(emptyIfUnavailable);\n    commits = [];',
    within: 20,
  },
  {
    name: 'a reader skips a missing commit',
    file: follow,
    find: 'const commits = untilFirstGap(await deps.log.commitsAfter(run, asOf), asOf + 1);',
    replace: 'const commits = await deps.log.commitsAfter(run, asOf);\n  void untilFirstGap;',
    within: 10,
  },
];
