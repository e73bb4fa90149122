import { testPartOfSeeds } from './chaos-seeds.ts';

testPartOfSeeds(3);
