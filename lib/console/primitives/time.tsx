/** Times and durations. A list of hundreds of rows has one clock. */
import { type ReactNode, useSyncExternalStore } from 'react';
import { durationText } from './duration.ts';

const second = 1_000;

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, second);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
};
/** The time in ms, which changes every second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

export const Ago = ({ at }: { readonly at: string }): ReactNode => {
  const ms = useNow() - Date.parse(at);
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {ms < second ? 'now' : `${durationText(ms)} ago`}
    </time>
  );
};

export const Clock = ({ at }: { readonly at: string }): ReactNode => (
  <time dateTime={at} title={at}>
    {new Date(at).toLocaleTimeString()}
  </time>
);
