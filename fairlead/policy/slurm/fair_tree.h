// Slurm's Fair Tree: users ranked by how far they are below their shares, account by account.
//
// A group of users (model/jobs.h) is an account below the root, its tickets the account's shares; a
// user without a group is below the root itself. The Level FS of an account or user is its part of
// the shares among its siblings over its part of their usage; infinite without usage. The tree is
// walked from the highest Level FS to the lowest, and users are ranked in that order: the first has
// factor 1, the last 1 / users. Siblings with the same Level FS rank the same. The users of tied
// accounts are walked as one list, and a user tied with an account ranks as that account's first.
//
// Source: https://slurm.schedmd.com/fair_tree.html ("Algorithm", "Level Fairshare Calculation",
// "Ties").
#pragma once

#include "fairlead/model/jobs.h"

namespace fairlead {

// Returns the fairshare factor of each user, above 0 and at most 1. O(users log users). REQUIRES: a
// usage for each user, at least 0.
IdVector<UserId, double> fair_tree(const Users& users, const IdVector<UserId, double>& usage);

}  // namespace fairlead
