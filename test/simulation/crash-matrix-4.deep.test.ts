import { it } from 'vitest';
import { checkMatrixPart, isInShare, parts } from './check-matrix-part.ts';

it.runIf(isInShare(4))(`a crash before or after any port call loses nothing and leads to the same end: part 4 of ${parts}`, () =>
  checkMatrixPart(4),
);
