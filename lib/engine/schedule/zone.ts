/**
 * Local time in a time zone: conversion of instants to local time and back. The runtime supplies the zone rules (IANA); the calendar
 * arithmetic is here, so that no clock is read.
 */
import { type Instant, instant } from '../time.ts';

/** A local time to the minute; months and days count from 1. */
export interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
}

const dayMs = 86_400_000;

/** Days since 1970-01-01 of the Gregorian calendar. */
const dayNumber = ({ year, month, day }: Pick<WallTime, 'year' | 'month' | 'day'>): number => {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
};

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
export const daysInMonth = (year: number, month: number): number =>
  month === 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
/** 1 is Sunday, 7 is Saturday, as in cron expressions. */
export const weekdayOf = (date: Pick<WallTime, 'year' | 'month' | 'day'>): number => ((((dayNumber(date) + 4) % 7) + 7) % 7) + 1;

const asUtc = (wall: WallTime): number => dayNumber(wall) * dayMs + (wall.hour * 60 + wall.minute) * 60_000;

const formats = new Map<string, Intl.DateTimeFormat>();
const formatOf = (zone: string): Intl.DateTimeFormat => {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  formats.set(zone, made);
  return made;
};

/** Names as the IANA database spells them. Offsets such as `+01:00` are not names. */
const zoneName = /^[A-Z][A-Za-z0-9_+-]*(\/[A-Z][A-Za-z0-9_+-]*)*$/;

export function isTimeZone(text: string): boolean {
  if (!zoneName.test(text)) return false;
  try {
    const { timeZone } = formatOf(text).resolvedOptions();
    return timeZone === text || timeZone.toLowerCase() !== text.toLowerCase();
  } catch {
    return false;
  }
}

export function wallTimeAt(zone: string, at: Instant): WallTime {
  const shown = { year: 0, month: 0, day: 0, hour: 0, minute: 0 };
  for (const { type, value } of formatOf(zone).formatToParts(at)) {
    if (type === 'year' || type === 'month' || type === 'day' || type === 'hour' || type === 'minute')
      shown[type] = Number(value);
  }
  return shown;
}

const wholeMinute = (at: number): number => Math.floor(at / 60_000) * 60_000;
const offsetAt = (zone: string, at: number): number => asUtc(wallTimeAt(zone, instant(at))) - wholeMinute(at);

/**
 * The first instant at which a clock in the zone shows that local time; undefined for a time that the start of daylight saving time
 * skips.
 */
export function firstInstantShowing(zone: string, wall: WallTime): Instant | undefined {
  const local = asUtc(wall);
  // The offsets a day before and a day after: a zone changes at most once in between.
  const possible = [offsetAt(zone, local - dayMs), offsetAt(zone, local + dayMs)].map((offset) => local - offset);
  const shown = possible.filter((at) => asUtc(wallTimeAt(zone, instant(at))) === local);
  return shown.length === 0 ? undefined : instant(Math.min(...shown));
}
