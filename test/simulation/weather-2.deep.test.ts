import { it } from 'vitest';
import { holdInRoughWeather, part, seedsInPart } from './weather.ts';

it(`the invariants hold in rough weather: part 2 of 4, ${seedsInPart} seeds`, () => holdInRoughWeather(part(2)));
