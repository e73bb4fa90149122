/** Bugs where signals and waits meet. */
import type { PlantedBug } from './bug.ts';

const meet = 'lib/service/meet-signals.ts';
const memory = 'lib/memory/signals.ts';

export const inSignals: readonly PlantedBug[] = [
  {
    name: 'a signal that is sent again is a new one',
    file: memory,
    find: 'if (signals.has(signal.signalId)) return;',
    replace: '',
    within: 40,
    // Where answers get lost, one signal is given for ever.
    weather: 'calm',
  },
  {
    name: 'a given signal is free again',
    file: meet,
    find: "await (standing === 'has_it' ? signals.take(place, signal.signalId, waiter) : signals.release(place, signal.signalId, waiter));",
    replace: 'await signals.release(place, signal.signalId, waiter);',
    within: 20,
  },
  {
    name: 'a signal counts as given where the wait has ended without it',
    file: meet,
    find: "await (standing === 'has_it' ? signals.take(place, signal.signalId, waiter) : signals.release(place, signal.signalId, waiter));",
    replace: 'await signals.take(place, signal.signalId, waiter);',
    within: 400,
    options: { code: 0, runs: 8, isShared: true },
  },
  {
    name: 'a signal that is meant for one who died stays so',
    file: meet,
    find: 'for (const signal of claimed) await settle(here, signal, signal.by);\n  if (claimed.length > 0) return true;',
    replace: '',
    within: 60,
    options: { code: 0, runs: 8, isShared: true },
  },
  {
    name: 'of a pass that is over a signal is never found to be given',
    file: meet,
    find: "return isGiven ? 'has_it' : 'over';",
    replace: "return isGiven ? 'over' : 'over';",
    within: 200,
    options: { code: 0 },
  },
  {
    name: 'whoever begins to wait does not look whether a signal is there',
    file: 'lib/service/keep-waits.ts',
    find: '    await meetSignals(meeter, placeOf(address, wait), fold);\n',
    replace: '',
    within: 100,
    weather: 'calm',
    options: { withoutSweep: true, code: 0, runs: 8 },
  },
  {
    name: 'a wait is entered nowhere',
    file: 'lib/service/keep-waits.ts',
    find: 'await meeter.deps.signals.enter(placeOf(address, wait), waiterOf(address, wait), after(deadlineAt, forgottenAfter));',
    replace: '',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a wait of code is entered nowhere, and nobody looks',
    file: 'lib/service/keep-waits.ts',
    find: 'await deps.signals.enter(place, waiterOf(address, wait), after(deadlineAt, forgottenAfter));',
    replace: '',
    within: 60,
    weather: 'calm',
    options: { withoutSweep: true, code: 1 },
  },
  {
    name: 'a sender is answered by what is so now, and not by what it was told',
    file: 'lib/service/send-signal.ts',
    find: 'namesOf(request).length === 0 ? isTaken : await deps.signals.answer(place, id, isTaken);',
    replace: 'namesOf(request).length >= 0 ? isTaken : await deps.signals.answer(place, id, isTaken);',
    within: 60,
    options: { code: 0, runs: 8, isShared: true },
  },
  {
    name: 'a sender is told that a wait has its signal before one has',
    file: 'lib/service/send-signal.ts',
    find: "signal.signalId === id && signal.state === 'taken'",
    replace: 'signal.signalId === id',
    within: 20,
  },
  {
    name: 'a wait that is over counts as one that lasts',
    file: meet,
    find: "node?.status === 'waiting' && node.for === 'signal' && node.attempt === waiter.attempt",
    replace: 'node !== undefined',
    within: 20,
    options: { code: 0 },
  },
  {
    name: 'a run is told something by one who holds no message, and nobody looks after it',
    file: 'lib/service/ask-run.ts',
    find: 'markDue(deps, fold.head, after(deps.clock.now(), firstLook)),',
    replace: 'void firstLook,',
    within: 700,
    options: { code: 0, runs: 8, isShared: true },
  },
];
