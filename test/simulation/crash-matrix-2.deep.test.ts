import { it } from 'vitest';
import { checkMatrixPart } from './check-matrix-part.ts';
import { isInShare, parts } from './parts-of-searches.ts';

it.runIf(isInShare(2))(`a crash before or after any port call loses nothing and leads to the same end: part 2 of ${parts}`, () =>
  checkMatrixPart(2),
);
