import { it } from 'vitest';
import { holdInTheMatrix } from './matrix-part.ts';

it('a crash before or after any port call leaves nothing lost and leads to the same end: part 1 of 2', () => holdInTheMatrix(1));
