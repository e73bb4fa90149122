import { it } from 'vitest';
import { holdInRoughWeather, seedsInPart } from './weather.ts';

it(`the invariants hold in rough weather: part 3 of 4, ${seedsInPart} seeds`, () => holdInRoughWeather(3));
