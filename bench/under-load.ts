/** Puts an embedded cloud under load and measures its memory and processor time afterwards. Prints JSON; `npm run bench` starts it. */
import { mkdirSync } from 'node:fs';
import { startBenchCloud } from './bench-cloud.ts';
import { measureIdleLoad } from './idle-load.ts';
import { startStepwell } from './peers/stepwell.ts';
import { measureThroughput } from './peers/throughput.ts';
import type { UnderLoad } from './under-load-shape.ts';

/** The first one warms the functions up. */
const repeats = 2;

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('give the directory of the cloud');
mkdirSync(directory, { recursive: true });
const bench = await startBenchCloud(directory, (line) => console.error(line));
bench.stopRecording();
try {
  const samples = await measureThroughput([await startStepwell(bench)], repeats);
  const throughput = samples.map(({ measure, values }) => ({ measure, values }));
  const measured: UnderLoad = { throughput, idle: await measureIdleLoad(directory) };
  console.log(JSON.stringify(measured));
} finally {
  await bench.stop();
}
