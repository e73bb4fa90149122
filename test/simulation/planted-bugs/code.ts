/** Bugs in workflows of code: their turns, their replays, their steps, and what is undone. */
import type { PlantedBug } from './bug.ts';
import { sideBySide } from './side-by-side.ts';

const driveLog = 'lib/service/drive-log.ts';
const live = 'lib/program/live.ts';
const options = { code: 1 };
/** waits end while steps are at work */
const busy = { codes: [sideBySide] };

export const inCode: readonly PlantedBug[] = [
  {
    name: 'a turn is put down though others were first',
    file: driveLog,
    find: 'if (state.asOf !== this.#told) {',
    replace: 'if (state.asOf === 0) {',
    within: 40,
    options: busy,
  },
  {
    name: 'a turn counts though it was made before the news that were told',
    file: driveLog,
    find: 'if (turn.heard === this.#hints && this.#hinted > this.#told) this.#told = this.#hinted;',
    replace: 'if (this.#hinted > this.#told) this.#told = this.#hinted;',
    within: 40,
    options: busy,
  },
  {
    name: 'a lost turn is decided anew',
    file: driveLog,
    find: "if (foreign === 'nothing' && state.asOf === this.#told) this.#told = commit.number;",
    replace: 'if (state.asOf === this.#told) this.#told = commit.number;',
    within: 40,
    options: busy,
  },
  {
    name: 'what a wait came to is no news',
    file: 'lib/service/foreign-commit.ts',
    find: "return node.status === 'waiting' ? 'news' : 'takes_over';",
    replace: "return node.status === 'waiting' ? 'nothing' : 'takes_over';",
    within: 40,
    options: busy,
  },
  {
    name: 'a drive does not beat',
    file: 'lib/service/watch-drive.ts',
    find: 'if (between(lastBeat, now) < beatEvery || isToldToEnd) continue;',
    replace: 'if (between(lastBeat, now) >= 0) continue;',
    within: 40,
    weather: 'calm',
    options,
  },
  {
    name: 'the body of a step begins before its turn is committed',
    file: live,
    find: 'if (draft.mayOverlap) this.#begin(draft.asked.filter(({ work }) => work?.isIdempotent === true));',
    replace: 'this.#begin(draft.asked);',
    within: 20,
    options,
  },
];
