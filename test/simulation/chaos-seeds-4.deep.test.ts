import { it } from 'vitest';
import { checkSeedsUnderChaos, chaosSeedRange, isInShare, seedsInPart } from './chaos-seeds.ts';

it.runIf(isInShare(4))(`the invariants hold with all faults: part 4 of 4, ${seedsInPart} seeds`, () =>
  checkSeedsUnderChaos(chaosSeedRange(4)),
);
