import { it } from 'vitest';
import { checkMatrixPart } from './check-matrix-part.ts';

it('a crash before or after any port call leaves nothing lost and leads to the same end: part 2 of 2', () => checkMatrixPart(2));
