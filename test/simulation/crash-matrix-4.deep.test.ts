import { it } from 'vitest';
import { checkMatrixPart } from './check-matrix-part.ts';
import { isInShare, parts } from './parts-of-searches.ts';

it.runIf(isInShare(4))(`a crash before or after any port call loses nothing and leads to the same end: part 4 of ${parts}`, () =>
  checkMatrixPart(4),
);
