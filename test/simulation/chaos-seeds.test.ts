import { it } from 'vitest';
import { checkSeedsUnderChaos } from './chaos-seeds.ts';

const count = 100;

it(`the invariants hold with all faults: the first ${count} seeds`, () => checkSeedsUnderChaos({ from: 1, count }));
