/** Runs the sweep each minute of virtual time. */
import { minuteOf } from '../../lib/engine/log/heartbeat-timeout.ts';
import { instant, minutes } from '../../lib/engine/time.ts';
import type { RunIndex } from '../../lib/ports/run-index.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { SimulatedPorts } from './simulated-ports.ts';

const minute = minutes(1);

interface Swept {
  readonly world: SimulatedPorts;
  /** where minutes without a due run are skipped */
  readonly index: Pick<RunIndex, 'recordSweptMinute'>;
  readonly sweep: () => void;
}

/** Sweeps now and each minute from then on; minutes in which nothing happens and nothing is due are passed at once. */
export function sweepEachMinute(time: VirtualTime, swept: Swept): void {
  const { world, index, sweep } = swept;
  sweep();
  time.in(minute, () => {
    const goOn = (): void => sweepEachMinute(time, swept);
    const idle = idleMinutes(time, world);
    if (idle < 2) return goOn();
    // One minute less, so that the next sweep happens before the next event.
    const next = instant(time.now + (idle - 1) * minute);
    const passed = minuteOf(next) - 2;
    if (passed > world.sweptMinute) void index.recordSweptMinute(passed);
    time.at(next, goOn);
  });
}

/** For how long a sweep would find nothing, and nothing else goes on. */
function idleMinutes({ now, nextAt }: VirtualTime, { dueMinutes }: SimulatedPorts): number {
  const dueFrom = (Math.min(...dueMinutes) + 1) * minute;
  const idle = Math.floor((Math.min(nextAt, dueFrom) - now) / minute);
  return Number.isFinite(idle) ? idle : 0;
}
