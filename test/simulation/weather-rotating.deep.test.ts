/** Seeds that no run has looked at before. A seed that fails is printed; `npm run simulate -- --seed <n>` replays it. */
import { it } from 'vitest';
import { firstRotatingSeed } from '../tier.ts';
import { holdInRoughWeather } from './weather.ts';

const count = 1_000;
const from = firstRotatingSeed(count);

it(`the invariants hold in rough weather: ${count} seeds from ${from}`, () => holdInRoughWeather({ from, count }));
