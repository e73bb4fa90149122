import { it } from 'vitest';
import { checkSeedsUnderChaos, chaosSeedRange, seedsInPart } from './chaos-seeds.ts';

it(`the invariants hold with all faults: part 3 of 4, ${seedsInPart} seeds`, () => checkSeedsUnderChaos(chaosSeedRange(3)));
