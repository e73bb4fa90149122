/** Planted bugs in the starts of a batch. */
import type { PlantedBug } from './bug.ts';

const sharedMark = 'lib/service/runs/shared-mark.ts';
const startBatch = 'lib/service/runs/start-batch.ts';
/** The starts of an environment are one batch. */
const batched = { areBatched: true, runs: 8, code: 0.3 } as const;

export const batchBugs: readonly PlantedBug[] = [
  {
    name: 'a start of a batch does not wait for the shared due entry',
    file: sharedMark,
    find: 'if (!isShared || !(await this.#written.promise)) await',
    replace: 'if (!isShared) await',
    within: 100,
    options: batched,
  },
  {
    name: 'a shared due entry has only the first run',
    file: sharedMark,
    find: 'const runIds = [...new Set(marks.map(({ run }) => run.runId))];',
    replace: 'const runIds = [first.run.runId];',
    within: 60,
    options: batched,
  },
  {
    name: 'a shared due entry that could not be written is not replaced',
    file: sharedMark,
    find: 'if (error instanceof Unavailable) return false;',
    replace: 'if (error instanceof Unavailable) return true;',
    within: 100,
    options: batched,
  },
  {
    name: 'a start that is late for the shared due entry has none',
    file: sharedMark,
    find: 'if (!isShared || !(await this.#written.promise)) await',
    replace: 'if (isShared && !(await this.#written.promise)) await',
    within: 200,
    options: batched,
  },
  {
    name: 'a shared due entry is in the minute of the start',
    file: sharedMark,
    find: 'const minute = Math.max(...marks.map((mark) => mark.minute));',
    replace: 'const minute = Math.min(...marks.map((mark) => mark.minute)) - 3;',
    within: 150,
    options: batched,
  },
  {
    name: 'only the first of the jobs of a batch is sent',
    file: startBatch,
    find: 'this.#jobs.sendTogether(this.#gathered);',
    replace: 'this.#jobs.sendTogether(this.#gathered.slice(0, 1));',
    within: 10,
    faultProfile: 'none',
    options: { ...batched, withoutSweep: true },
  },
  {
    name: 'the outcomes of a batch are in another order than its starts',
    file: startBatch,
    find: 'return settled.map((each) => {',
    replace: 'return settled.toReversed().map((each) => {',
    within: 10,
    faultProfile: 'none',
    options: batched,
  },
];
