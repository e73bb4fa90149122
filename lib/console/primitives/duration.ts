/** Durations as text: at most two units, the larger one first. */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** For example `120 ms`, `4.1 s`, `2 m 5 s`, `3 h 10 m`, `8 d 2 h`. */
export function durationText(ms: number): string {
  if (ms < second) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * second) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < minute) return `${Math.floor(ms / second)} s`;
  if (ms < hour) return twoUnits(ms, minute, 'm', second, 's');
  if (ms < day) return twoUnits(ms, hour, 'h', minute, 'm');
  return twoUnits(ms, day, 'd', hour, 'h');
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`;
}
