import { it } from 'vitest';
import { checkMatrixPart } from './check-matrix-part.ts';
import { isInShare, parts } from './parts-of-searches.ts';

it.runIf(isInShare(7))(`a crash before or after any port call loses nothing and leads to the same end: part 7 of ${parts}`, () =>
  checkMatrixPart(7),
);
