import { startCloudHere } from './e2e/cloud-here.ts';
const t0 = performance.now(); const c0 = process.cpuUsage();
const cloud = await startCloudHere();
const c1 = process.cpuUsage(c0);
console.log('started', performance.now() - t0, (c1.user + c1.system) / 1000);
await cloud.stop();
console.log('stopped', performance.now() - t0);
