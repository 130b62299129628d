// The policy's notes about a job, in words.
import { duration, number } from "./format";

function timerText(domain: string, waited: number, left: number): string {
  if (left === 0) return `no longer insists on one ${domain}`;
  const whole = duration(waited + left);
  return `insists on one ${domain}: has waited ${duration(waited)} of ${whole}`;
}

// Returns a note in words; `waited`: time for which its job had been without GPUs, in seconds.
export function noteText(kind: string, value: number, waited: number): string {
  switch (kind) {
    case "queue":
      return `moved to priority queue ${number(value)}`;
    case "node_timer":
      return timerText("node", waited, value);
    case "rack_timer":
      return timerText("rack", waited, value);
    case "score":
      return `got a place by its score: its sensitivity to the network is ${number(value)}`;
    case "saving":
      return `its new place saves ${number(value)} GPU-seconds in total`;
    case "pass":
      return `stride pass ${number(value)}`;
    case "payoff":
      return `its gang is worth ${number(value)} beyond its price`;
    case "rank":
      return `its value for early finishes is ${number(100 * value)} % of the largest`;
    case "cut":
      return `was left for the next decision, after ${number(value)} evaluations in this one`;
    case "made_room":
      return "had to make room for another job";
    default:
      return `${kind} ${number(value)}`;
  }
}
