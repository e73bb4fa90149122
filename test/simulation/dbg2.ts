import { simulate } from './simulation.ts';
import { noFaults, roughWeather } from './faults.ts';
const [kind, from, count] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
let lost = 0;
const bad: string[] = [];
const t = performance.now();
for (let seed = from; seed < from + count; seed++) {
  try {
    const r = await simulate(
      kind === 'poison'
        ? { seed, rates: noFaults, poison: 0.15 }
        : kind === 'storm'
          ? { seed, rates: noFaults, isStormy: true }
          : { seed, rates: roughWeather, poison: 0.1 },
    );
    lost += r.lostAttempts;
  } catch (e) {
    bad.push(`${seed}: ${String(e).slice(0, 260)}`);
  }
}
console.log(kind, 'lost', lost, 'bad', bad.length, (performance.now() - t) / 1000);
console.log(bad.slice(0, 14).join('\n'));
