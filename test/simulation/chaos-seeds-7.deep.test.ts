import { it } from 'vitest';
import { checkSeedsUnderChaos, chaosSeedRange, seedsInPart } from './chaos-seeds.ts';
import { isInShare, parts } from './parts-of-searches.ts';

it.runIf(isInShare(7))(`the invariants hold with all faults: part 7 of ${parts}, ${seedsInPart} seeds`, () =>
  checkSeedsUnderChaos(chaosSeedRange(7)),
);
