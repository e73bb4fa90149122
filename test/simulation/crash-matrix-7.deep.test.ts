import { it } from 'vitest';
import { checkMatrixPart, isInShare, parts } from './check-matrix-part.ts';

it.runIf(isInShare(7))(`a crash before or after any port call loses nothing and leads to the same end: part 7 of ${parts}`, () =>
  checkMatrixPart(7),
);
