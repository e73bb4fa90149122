/** Keys that work on each page. They do nothing while one types in a field or a dialog is open, where the keys have another meaning. */
import { useEffect, useEffectEvent } from 'react';
import { go } from '../router.tsx';
import { pages } from './pages.tsx';

const storageKey = 'stepwell.shortcuts';
/** Between `g` and the letter of a page. */
const sequenceMs = 1_500;

/** Keys without a modifier can be turned off: speech input and some keyboards press them by accident. */
export const areKeysOn = (): boolean => localStorage.getItem(storageKey) !== 'off';
export const turnKeys = (isOn: boolean): void => localStorage.setItem(storageKey, isOn ? 'on' : 'off');

const isMac = /mac/i.test(navigator.userAgent);
export const paletteKey = isMac ? '⌘K' : 'Ctrl+K';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable="true"]') !== null;
const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null;

const all = (selector: string): readonly HTMLElement[] => [...document.querySelectorAll<HTMLElement>(selector)];

/** Focuses the link of the next or previous row of the page's tables, so that Enter follows it. */
function moveInRows(step: 1 | -1): void {
  const rows = all('main table.rows tbody tr').filter((row) => row.querySelector('a, button') !== null);
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step];
  next?.querySelector<HTMLElement>('a, button')?.focus();
}

function selectRow(): void {
  document.activeElement?.closest('tr')?.querySelector<HTMLElement>('input[type="checkbox"]')?.click();
}

function moveInTabs(step: 1 | -1): void {
  const tabs = all('main [role="tab"]');
  const next = tabs[tabs.findIndex((tab) => tab.getAttribute('aria-selected') === 'true') + step];
  next?.click();
  next?.focus();
}

/** @returns false if the page has no field to search in */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLElement>('main input[type="search"]');
  field?.focus();
  return field !== null;
}

function goToLetter(letter: string): boolean {
  const page = pages.find((each) => each.letter === letter);
  if (page === undefined) return false;
  go(`/${page.path}`);
  document.getElementById('page')?.focus();
  return true;
}

interface Opened {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}

/** What a key without a modifier does. @returns false for a key that has no meaning */
function press(key: string, { openPalette, openHelp }: Opened): boolean {
  const actions: Readonly<Record<string, () => void>> = {
    '?': openHelp,
    '/': () => {
      if (!focusSearch()) openPalette();
    },
    j: () => moveInRows(1),
    k: () => moveInRows(-1),
    x: selectRow,
    ']': () => moveInTabs(1),
    '[': () => moveInTabs(-1),
  };
  const action = actions[key];
  action?.();
  return action !== undefined;
}

export function useShortcuts(opened: Opened): void {
  const onPress = useEffectEvent((key: string): boolean => press(key, opened));
  const onPalette = useEffectEvent(() => opened.openPalette());
  useEffect(() => {
    let goneAt = Number.NEGATIVE_INFINITY;
    const listen = (event: KeyboardEvent): void => {
      const isPalette = event.key.toLowerCase() === 'k' && (isMac ? event.metaKey && !event.ctrlKey : event.ctrlKey);
      if (isPalette && !event.shiftKey && !event.altKey) {
        event.preventDefault();
        if (!isDialogOpen()) onPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (!areKeysOn() || isTyping(event.target) || isDialogOpen()) return;
      const isSecond = event.timeStamp - goneAt < sequenceMs;
      goneAt = Number.NEGATIVE_INFINITY;
      if (isSecond && goToLetter(event.key)) event.preventDefault();
      else if (event.key === 'g') goneAt = event.timeStamp;
      else if (onPress(event.key)) event.preventDefault();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
}
