import { testPartOfMatrix } from './matrix-parts.ts';

testPartOfMatrix(1);
