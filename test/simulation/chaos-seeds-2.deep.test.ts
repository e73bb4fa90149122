import { testPartOfSeeds } from './chaos-seeds.ts';

testPartOfSeeds(2);
