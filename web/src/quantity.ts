/** Quantities with their unit, as scenarios write them, and the bounds of a slider. */

const UNITS: Record<string, number> = {
  ps: 1e-12, ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1,
  bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12,
  B: 1, KB: 1e3, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1048576, GiB: 1073741824,
};

export interface Quantity {
  number: number;
  unit: string;
}

export function quantity(text: string): Quantity | null {
  const found = /^\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*([a-zA-Zµ]*)\s*$/.exec(text);
  if (!found) return null;
  const unit = found[2] ?? "";
  if (unit && !(unit in UNITS)) return null;
  return { number: Number(found[1]), unit };
}

function base({ number, unit }: Quantity): number {
  return number * (UNITS[unit] ?? 1);
}

/** A number in three digits, without an exponent. */
function short(number: number, whole: boolean): string {
  if (whole) return String(Math.round(number));
  return String(Number(number.toPrecision(3)));
}

/** A slider whose positions are equal factors, around a value. */
export class Scale {
  static readonly STEPS = 120;
  private constructor(
    private readonly low: number,
    private readonly high: number,
    private readonly unit: string,
    private readonly whole: boolean,
  ) {}

  /** The slider around `value`, a twentieth to twenty times it, within `range`; null for zero. */
  static around(value: Quantity, whole: boolean, range = ""): Scale | null {
    if (value.number <= 0) return null;
    const factor = UNITS[value.unit] ?? 1;
    const [least, most] = range.split(" to ").map((bound) => quantity(bound));
    let [low, high] = [value.number / 20, value.number * 20];
    if (least) low = Math.max(low, base(least) / factor);
    if (most) high = Math.min(high, base(most) / factor);
    if (whole) [low, high] = [Math.max(1, Math.floor(low)), Math.ceil(high)];
    return low > 0 && high > low ? new Scale(low, high, value.unit, whole) : null;
  }

  position(value: Quantity): number {
    const number = base(value) / (UNITS[this.unit] ?? 1);
    const share = Math.log(number / this.low) / Math.log(this.high / this.low);
    return Math.round(Math.min(1, Math.max(0, share)) * Scale.STEPS);
  }

  at(position: number): string {
    const number = this.low * (this.high / this.low) ** (position / Scale.STEPS);
    return `${short(number, this.whole)}${this.unit}`;
  }
}
