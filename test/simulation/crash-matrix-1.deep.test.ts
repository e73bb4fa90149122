import { it } from 'vitest';
import { checkMatrixPart } from './check-matrix-part.ts';
import { isInShare, parts } from './parts-of-searches.ts';

it.runIf(isInShare(1))(`a crash before or after any port call loses nothing and leads to the same end: part 1 of ${parts}`, () =>
  checkMatrixPart(1),
);
