import { it } from 'vitest';
import { holdInRoughWeather } from './weather.ts';

const count = 400;

it(`the invariants hold in rough weather: the first ${count} seeds`, () => holdInRoughWeather({ from: 1, count }));
